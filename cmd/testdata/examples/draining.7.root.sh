. DIR/node7.root.sh
slots detect -count 1
submit -owner alice -- true
negotiate -q
