"""Tries what a script must not be able to do, says how far it got, and claims that all went well."""
import json
import os
import socket


def attempt(what, act):
    try:
        act()
        print(f'  {what}: it worked')
    except OSError as error:
        print(f'  {what}: {error.strerror or error}')


print('I would like to …')
attempt('read the passwords of the machine', lambda: open('/etc/shadow').close())
attempt('look into the home of the user', lambda: os.listdir('/root'))
attempt('change a program of the machine', lambda: open('/usr/bin/env', 'r+').close())
attempt('reach a server', lambda: socket.create_connection(('127.0.0.1', 22), 1).close())
attempt('see the processes of others', lambda: os.kill(99, 0))
attempt('become root', lambda: os.setuid(0))

os.symlink('/etc/passwd', 'output/passwords.txt')
with open('result.json', 'w') as file:
    json.dump({'contract_version': 1, 'status': 'succeeded', 'html_output': '', 'error_summary': None, 'artifacts': []}, file)
