#!/bin/bash
# Whether a target can be written to; scripts that write there read this after client.sh, nobody runs it.

# MinIO says whether it may be written to; `mc ready` asks for ever, the time limit is its verdict. Of a service elsewhere
# the bucket is asked whether it keeps old versions: where it does not, what is overwritten in the source is overwritten in
# its only copy.
ready() {
  local said
  if [[ ! $PLACE ]]; then
    timeout "$READY_SECONDS" mc ready target || trouble "the target is not ready to write after $READY_SECONDS s"
    return
  fi
  said=$(timeout "$READY_SECONDS" mc --json version info "target/$TARGET_BUCKET" 2>&1) \
    || trouble "bucket $TARGET_BUCKET of $PLACE does not answer within $READY_SECONDS s: ${said//$'\n'/ }"
  [[ $said =~ \"status\":\ *\"Enabled\" ]] \
    || verdict "bucket $TARGET_BUCKET of $PLACE keeps no old versions: have its versioning turned on there"
}
