#!/bin/sh
# Ignores SIGTERM, SIGINT and SIGHUP, and starts a detached child that ignores SIGTERM too.
trap '' TERM INT HUP
echo 'ignoring all signals'
(trap '' TERM; setsid sleep 600) &
sleep 600
