printf '#!/bin/sh\n' | tee collect >simulate
chmod +x collect simulate
printf 'executable = simulate\nqueue\n' >simulate.sub
printf 'executable = collect\nafter_ok = $(previous:12)\nqueue\n' >collect.sub
submit -- true
