fairspool-setup
