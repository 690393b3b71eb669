printf '#!/bin/sh\n' | tee steps.sh step >simulate
chmod +x steps.sh step simulate
cat >steps.sub <<'END'
executable           = steps.sh
transfer_input_files = step
checkpoint_exit_code = 85
transfer_checkpoint_files = at
queue
END
