import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressesOf, checkListeners } from './listeners.js';
import { StartError } from './start-error.js';

const loopback = { netmask: '255.0.0.0', family: 'IPv4', mac: '00:00:00:00:00:00', internal: true, cidr: null } as const;
const readTwo = () => ({
  lo: [{ ...loopback, address: '127.0.0.1' }],
  eth0: [{ ...loopback, address: '10.0.0.5', internal: false }],
});
const failToRead = () => {
  throw new Error('uv_interface_addresses returned Unknown system error 97');
};

test('a wildcard is reached at the addresses of all interfaces, and another address only at itself', () => {
  for (const wildcard of ['0.0.0.0', '::']) assert.deepEqual(addressesOf(wildcard, readTwo), ['127.0.0.1', '10.0.0.5']);
  assert.deepEqual(addressesOf('10.0.0.5', failToRead), ['10.0.0.5']);
});

test('if the interfaces are not readable, only a wildcard prevents the start, in one sentence', async () => {
  await checkListeners([{ host: '127.0.0.1', port: 0 }, null], failToRead);
  for (const host of ['0.0.0.0', '::'])
    await assert.rejects(checkListeners([{ host, port: 0 }], failToRead), (error) => {
      assert.ok(error instanceof StartError);
      assert.equal(
        error.message,
        `The network interfaces are not readable, so the server cannot listen on ${host}: uv_interface_addresses returned Unknown system error 97. Allow AF_NETLINK sockets, or choose the address of one interface with EVERSTEP_HOST or --host.`,
      );
      return true;
    });
});
