# The farm's machine n1 is gate, too, and n2 is n4.
sed -i 's/^Host n1$/Host n1 gate/; s/^Host n2$/Host n2 n4/' /etc/ssh/ssh_config
fairspool-setup
printf '[engine.farm]\nKIND = "ssh"\nHOSTS = ["n2", "n3"]\n[engine.gate]\nKIND = "ssh"\nLINK = "home"\nHOSTS = ["n4"]\n' >>/etc/fairspool/fairspool.toml
glidein -install
glidein -q
timeout 170 sh -c 'until slots list -af Name | grep -q n3; do sleep 0.1; done'
