# The farm's machine n1 is node7, too.
sed -i 's/^Host n1$/Host n1 node7/' /etc/ssh/ssh_config
fairspool-setup
printf '[engine.farm]\nKIND = "ssh"\nHOSTS = ["node7"]\n' >>/etc/fairspool/fairspool.toml
glidein -install
glidein -q
timeout 170 sh -c 'until slots list -af Name | grep -q node7; do sleep 0.1; done'
