slots detect -count 1
spool dump pool.dump
spool restore -spool /var/spool/fairspool.new pool.dump
