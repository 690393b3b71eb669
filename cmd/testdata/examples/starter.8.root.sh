. DIR/node7.root.sh
fairspool-setup
slots detect -count 1
submit -owner alice -- true
negotiate -q
mkdir -p /run/lock
