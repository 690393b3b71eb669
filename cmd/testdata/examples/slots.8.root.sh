. DIR/node7.root.sh
