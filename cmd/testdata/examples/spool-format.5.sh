slots detect
submit -- true
negotiate
spool compact -q
