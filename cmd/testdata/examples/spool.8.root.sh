mkdir /root/backup
slots detect -count 1
