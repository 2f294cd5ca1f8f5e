/** A DNS server on a free UDP port. A test provides its responses. */
import { createSocket } from 'node:dgram';
import { isIPv4 } from 'node:net';

const HEADER_BYTES = 12;
const TYPE_A = 1;
const TYPE_AAAA = 28;

export interface Question {
  readonly name: string;
  readonly family: 4 | 6;
}

/** `never` sends no response. Bytes are sent unchanged. */
export type Reply =
  | 'never'
  | 'no-such-name'
  | 'server-failure'
  | { readonly addresses: readonly string[]; readonly ttlS?: number }
  | Buffer;

export interface NameServer {
  /** Address of the server, for `EVERSTEP_DNS_SERVERS` and resolvers. */
  readonly address: string;
  readonly questions: Question[];
  close(): void;
}

function readQuestion(packet: Buffer): Question & { readonly end: number } {
  const labels: string[] = [];
  let offset = HEADER_BYTES;
  for (let length = packet[offset] ?? 0; length > 0; length = packet[offset] ?? 0) {
    labels.push(packet.toString('latin1', offset + 1, offset + 1 + length));
    offset += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), family: packet.readUInt16BE(offset + 1) === TYPE_AAAA ? 6 : 4, end: offset + 5 };
}

function v6Bytes(address: string): Buffer {
  const [head = '', tail] = address.split('::');
  const groups = (text: string | undefined) => (text ? text.split(':') : []);
  const missingGroups = tail === undefined ? 0 : 8 - groups(head).length - groups(tail).length;
  const allGroups = [...groups(head), ...Array.from({ length: missingGroups }, () => '0'), ...groups(tail)];
  return Buffer.from(allGroups.map((group) => group.padStart(4, '0')).join(''), 'hex');
}

function record(address: string, ttlS: number): Buffer {
  const bytes = isIPv4(address) ? Buffer.from(address.split('.').map(Number)) : v6Bytes(address);
  const head = Buffer.alloc(12);
  // The name is a pointer to the name in the question.
  head.writeUInt16BE(0xc000 + HEADER_BYTES, 0);
  head.writeUInt16BE(isIPv4(address) ? TYPE_A : TYPE_AAAA, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(ttlS, 6);
  head.writeUInt16BE(bytes.length, 10);
  return Buffer.concat([head, bytes]);
}

function responseTo(
  packet: Buffer,
  { end, family }: Question & { readonly end: number },
  reply: Exclude<Reply, 'never'>,
): Buffer {
  if (Buffer.isBuffer(reply)) return reply;
  const addresses = typeof reply === 'object' ? reply.addresses.filter((address) => isIPv4(address) === (family === 4)) : [];
  const head = Buffer.from(packet.subarray(0, HEADER_BYTES));
  head[2] = 0x81;
  head[3] = 0x80 | (reply === 'no-such-name' ? 3 : reply === 'server-failure' ? 2 : 0);
  head.writeUInt16BE(addresses.length, 6);
  head.writeUInt32BE(0, 8);
  const ttlS = typeof reply === 'object' ? (reply.ttlS ?? 60) : 0;
  return Buffer.concat([head, packet.subarray(HEADER_BYTES, end), ...addresses.map((address) => record(address, ttlS))]);
}

export async function startNameServer(reply: (question: Question) => Reply): Promise<NameServer> {
  // The server shares its event loop with the code under test, which can send hundreds of questions in one turn. The default
  // buffer holds 256 of them and drops the rest.
  const socket = createSocket({ type: 'udp4', recvBufferSize: 1 << 20 });
  const questions: Question[] = [];
  socket.on('message', (packet, { port, address }) => {
    const question = readQuestion(packet);
    questions.push({ name: question.name, family: question.family });
    const nextReply = reply(question);
    if (nextReply !== 'never') socket.send(responseTo(packet, question, nextReply), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return { address: `127.0.0.1:${socket.address().port}`, questions, close: () => socket.close() };
}
