// Checks the configuration files that the production checklist contains.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const read = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

test('the systemd unit allows the address families that the server uses', () => {
  const [, families = ''] = /^RestrictAddressFamilies=(.*)$/m.exec(read('docs/production-checklist.md')) ?? [];
  // AF_UNIX is for the command socket, and AF_NETLINK for the addresses of the network interfaces.
  assert.deepEqual(families.split(' ').sort(), ['AF_INET', 'AF_INET6', 'AF_NETLINK', 'AF_UNIX']);
});
