#!/bin/sh
# Ignores every request to end, and leaves a child behind that does the same.
trap '' TERM INT HUP
echo 'nobody will stop me'
(trap '' TERM; setsid sleep 600) &
sleep 600
