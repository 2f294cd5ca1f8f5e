/**
 * Ports of well-known services that do not use HTTP. At best a request to one of them fails. At worst the server
 * executes the request text as commands (SMTP, Redis), or its response reveals what listens there.
 */

/** The "bad ports" of the Fetch standard, https://fetch.spec.whatwg.org/#port-blocking. */
const FETCH_BAD_PORTS = [
  ...[0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110],
  ...[111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540],
  ...[548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566],
  ...[6665, 6666, 6667, 6668, 6669, 6679, 6697, 10_080],
];

/** Additional ports: directory, remote desktop and file services, databases, caches and message brokers. */
const SERVER_PORTS = [
  ...[88, 445, 464, 873, 1080, 1433, 1434, 1521, 1883, 2181, 3268, 3269, 3306, 3389, 4222, 5222, 5269, 5432, 5671, 5672, 5900],
  ...[6379, 6380, 6432, 8883, 9042, 9092, 11_211, 26_257, 27_017],
];

export const BLOCKED_PORTS: ReadonlySet<number> = new Set([...FETCH_BAD_PORTS, ...SERVER_PORTS]);
