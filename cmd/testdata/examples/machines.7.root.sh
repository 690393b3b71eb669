fairspool-setup
printf '[engine.farm]\nKIND = "ssh"\nHOSTS = ["n1", "n2", "n3"]\n' >>/etc/fairspool/fairspool.toml
