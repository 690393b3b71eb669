mkdir /mnt/backup
mkdir -p /etc/fairspool
echo "UID_DOMAIN = \"vm\"" >/etc/fairspool/fairspool.toml
export FAIRSPOOL_NOW=2026-10-05T12:00:00Z
slots detect -count 1
submit hold=true output=/dev/null error=/dev/null -- true
qdel 1
echo 'export FAIRSPOOL_NOW=2026-11-20T12:00:00Z' >env
