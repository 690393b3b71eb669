mkdir -p man/man5
cp "${0%/cmd/testdata/*}/man/submit-commands.5" man/man5
