"""Attempts six forbidden actions, prints the result of each, and then reports success."""
import json
import os
import socket


def attempt(what, act):
    try:
        act()
        print(f'  {what}: allowed')
    except OSError as error:
        print(f'  {what}: {error.strerror or error}')


print('Attempting to …')
attempt('read the password file', lambda: open('/etc/shadow').close())
attempt("list root's home folder", lambda: os.listdir('/root'))
attempt('open a system program for writing', lambda: open('/usr/bin/env', 'r+').close())
attempt('connect to a local server', lambda: socket.create_connection(('127.0.0.1', 22), 1).close())
attempt('signal another process', lambda: os.kill(99, 0))
attempt('become root', lambda: os.setuid(0))

os.symlink('/etc/passwd', 'output/passwords.txt')
with open('result.json', 'w') as file:
    json.dump({'contract_version': 1, 'status': 'succeeded', 'html_output': '', 'error_summary': None, 'artifacts': []}, file)
