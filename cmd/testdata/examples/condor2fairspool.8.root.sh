mkdir -p /etc/condor/config.d
printf 'PRIORITY_HALFLIFE = 43200\nGROUP_NAMES = physics\n' >/etc/condor/condor_config
printf 'GROUP_QUOTA_physics = 20\n' >/etc/condor/config.d/10-groups
