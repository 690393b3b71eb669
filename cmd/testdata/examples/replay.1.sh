slots detect
submit -- true
negotiate -q
starter -wait -q
printf 'PRIORITY_HALFLIFE = 604800\n' >new.toml
printf '1 0 0 60 1 60 -1 1 60 -1 1 1 1 -1 -1 -1 -1 -1\n' | gzip >LCG-2005.swf.gz
