. DIR/node7.root.sh
slots detect -count 1
submit -owner alice output=/dev/null error=/dev/null -- true
negotiate -q
mkdir -p /run/lock
