import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { Connections } from './connections.js';

class PlayedSocket extends EventEmitter {
  readonly remoteAddress: string;
  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
  }
}

function harness(served: number, trustedProxies: readonly string[] = []) {
  const connections = new Connections({ limits: { served, accepted: served + 2 }, trustedProxies });
  const connect = (address: string): Socket => {
    const socket = new PlayedSocket(address) as EventEmitter as Socket;
    connections.add(socket);
    return socket;
  };
  return { connections, connect, refusalAt: (address: string) => connections.refusalOf(connect(address)) };
}

test('one address can use at most half of the connections', () => {
  const { connections, connect, refusalAt } = harness(8);
  const held = Array.from({ length: 4 }, () => connect('192.0.2.1'));
  assert.deepEqual(
    held.map((socket) => connections.refusalOf(socket)),
    [null, null, null, null],
  );
  assert.match(refusalAt('192.0.2.1') ?? '', /from this address/);
  assert.equal(refusalAt('192.0.2.2'), null);
  held[0]?.emit('close');
  held[1]?.emit('close');
  assert.equal(refusalAt('192.0.2.1'), null);
});

test('counts an IPv6 network as one address, and both forms of an IPv4 address as one', () => {
  const { connect, refusalAt } = harness(2);
  connect('2001:db8:0:7::1');
  assert.match(refusalAt('2001:db8:0:7::2') ?? '', /from this address/);
  const mapped = harness(2);
  mapped.connect('192.0.2.1');
  assert.match(mapped.refusalAt('::ffff:192.0.2.1') ?? '', /from this address/);
});

test('trusted proxies and localhost can use all connections', () => {
  const { connect, refusalAt } = harness(6, ['10.0.0.0/8', '2001:db8::5']);
  for (const address of ['10.1.2.3', '10.1.2.3', '::ffff:10.1.2.3', '127.0.0.1', '2001:db8::5']) connect(address);
  assert.equal(refusalAt('2001:db8::5'), null);
  assert.match(refusalAt('127.0.0.1') ?? '', /too many open connections; /);
});
