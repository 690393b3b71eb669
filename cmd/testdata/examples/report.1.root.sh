mkdir -p /var/lib/prometheus/node-exporter /var/www/html
slots detect -count 1
