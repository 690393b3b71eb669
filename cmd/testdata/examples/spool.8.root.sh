mkdir /mnt/backup
FAIRSPOOL_NOW=2026-10-05T12:00:00Z slots detect -count 1
echo 'export FAIRSPOOL_NOW=2026-11-20T12:00:00Z' >env
