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

test('both pages with a configuration of nginx pass the connections of workers in the same way', () => {
  const [checklist, network] = ['docs/production-checklist.md', 'docs/operations/network.md'].map(read);
  const locationsOf = (page) =>
    new Map(
      [...page.matchAll(/^ *location (\S+) \{\n([^}]*)\}/gm)].map(([, path, text]) => [path, text.trim().split(/\s*\n\s*/)]),
    );
  const locations = locationsOf(checklist);
  const directives = locations.get('/v2/workers/connect') ?? [];
  assert.deepEqual(locationsOf(network).get('/v2/workers/connect'), directives);
  for (const pattern of [/^proxy_set_header +Upgrade +\$http_upgrade;$/, /^proxy_set_header +Connection +"upgrade";$/])
    assert.ok(
      directives.some((directive) => pattern.test(directive)),
      String(pattern),
    );
  const sharedDirectives = (locations.get('/') ?? []).filter((text) => /^proxy_pass|^proxy_set_header +(Host|X-)/.test(text));
  assert.equal(sharedDirectives.length, 4);
  assert.deepEqual(
    sharedDirectives.filter((directive) => !directives.includes(directive)),
    [],
  );
});
