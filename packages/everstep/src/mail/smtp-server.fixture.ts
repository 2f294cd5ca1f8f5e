/** A small SMTP server for tests, on a free port of this machine. */
import { EventEmitter, once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { TestCertificate } from '../config/certificates.fixture.js';

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers and body of the mail, with CRLF. */
  readonly data: string;
  readonly isEncrypted: boolean;
  /** User and password of the login; null without a login. */
  readonly login: string | null;
}

export interface SmtpServerOptions {
  /** Certificate of the server. Without one, the server does not offer TLS. */
  readonly certificate?: TestCertificate;
  /** Whether connections start with TLS. */
  readonly isSecure?: boolean;
  /** Returns the response to a recipient. Default: accepted. */
  readonly onRecipient?: (address: string) => string;
  /** Whether the server sends no greeting. */
  readonly isSilent?: boolean;
}

const END_OF_DATA = '\r\n.\r\n';
const NEW_LINE = '\r\n';
const addressOf = (line: string): string => /<(.*)>/.exec(line)?.[1] ?? '';

export class SmtpServer {
  readonly mails: ReceivedMail[] = [];
  private readonly server: Server;
  private readonly options: SmtpServerOptions;
  private readonly sockets = new Set<Socket>();

  private readonly events = new EventEmitter();

  private constructor(options: SmtpServerOptions) {
    this.options = options;
    this.server = createServer((socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
      socket.on('error', () => {});
      if (options.isSecure) this.converse(this.encrypt(socket), true);
      else this.converse(socket, true);
    });
  }

  static async open(options: SmtpServerOptions = {}): Promise<SmtpServer> {
    const smtpServer = new SmtpServer(options);
    await new Promise<void>((resolve) => smtpServer.server.listen(0, '127.0.0.1', resolve));
    return smtpServer;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Resolves with the first mail, waiting until it arrives. */
  async next(): Promise<ReceivedMail> {
    if (this.mails.length === 0) await once(this.events, 'mail');
    const [mail] = this.mails;
    if (!mail) throw new Error('no mail arrived');
    return mail;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private encrypt(socket: Socket): TLSSocket {
    const tlsSocket = new TLSSocket(socket, { isServer: true, ...this.options.certificate });
    tlsSocket.on('error', () => {});
    return tlsSocket;
  }

  private converse(socket: Socket, shouldGreet: boolean): void {
    const isEncrypted = socket instanceof TLSSocket;
    const { certificate, isSilent, onRecipient = () => '250 ok' } = this.options;
    let [buffer, from, login, isData] = ['', '', null as string | null, false];
    let to: string[] = [];
    const sendLines = (...lines: readonly string[]) => socket.write(lines.map((line) => line + NEW_LINE).join(''));
    const respond = (line: string): void => {
      const [verb = '', , credentials = ''] = line.split(' ');
      switch (verb.toUpperCase()) {
        case 'EHLO':
          return void sendLines(...(certificate && !isEncrypted ? ['250-STARTTLS'] : []), '250-smtp.test', '250 AUTH PLAIN');
        case 'STARTTLS':
          socket.removeAllListeners('data');
          sendLines('220 ready');
          this.converse(this.encrypt(socket), false);
          return;
        case 'AUTH':
          login = Buffer.from(credentials, 'base64').toString().slice(1).replace('\0', ':');
          return void sendLines('235 ok');
        case 'MAIL':
          from = addressOf(line);
          return void sendLines('250 ok');
        case 'RCPT': {
          const response = onRecipient(addressOf(line));
          if (response.startsWith('2')) to.push(addressOf(line));
          return void sendLines(response);
        }
        case 'DATA':
          isData = true;
          return void sendLines('354 send');
        case 'QUIT':
          sendLines('221 bye');
          return void socket.end();
        default:
          return void sendLines('250 ok');
      }
    };
    socket.on('data', (chunk: Buffer) => {
      buffer += chunk.toString();
      for (;;) {
        const end = buffer.indexOf(isData ? END_OF_DATA : NEW_LINE);
        if (end < 0) return;
        const text = buffer.slice(0, end);
        buffer = buffer.slice(end + (isData ? END_OF_DATA : NEW_LINE).length);
        if (!isData) {
          respond(text);
          continue;
        }
        this.mails.push({ from, to, data: text, isEncrypted, login });
        this.events.emit('mail');
        [isData, to] = [false, []];
        sendLines('250 queued as 1');
      }
    });
    if (shouldGreet && !isSilent) sendLines('220 smtp.test');
  }
}
