printf '#!/bin/sh\n' | tee simulate urgent >fill
chmod +x simulate urgent fill
cat >>fairspool.toml <<'END'
GROUP_NAMES = ["physics"]
END
