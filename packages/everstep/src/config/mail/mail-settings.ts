/** Settings of the SMTP server that sends notices about alerts. */
import type { Setting } from '../setting.js';
import { MAIL_ADDRESS } from './mail-address.js';

/** The operator's SMTP server, and the addresses that it sends from and to. */
export interface MailSettings {
  readonly host: string;
  readonly port: number;
  /** Null if the SMTP server requires no login. */
  readonly login: { readonly user: string; readonly password: string } | null;
  /** `from-start` means TLS from the start, `upgrade` that STARTTLS is required, and `if-offered` that it is optional. */
  readonly tls: 'from-start' | 'upgrade' | 'if-offered';
  /** Address of the sender. */
  readonly from: string;
  /** Addresses, and domains with a leading `@`, that may receive email, in lowercase. An empty list allows all. */
  readonly recipients: readonly string[];
}

export interface SmtpUrl extends Pick<MailSettings, 'host' | 'port' | 'login'> {
  readonly isSecure: boolean;
}

const SMTP_PORT = 587;
const SMTPS_PORT = 465;
const DOMAIN = /^[a-z0-9-]+(\.[a-z0-9-]+)*$/;

const ADDRESS = new RegExp(MAIL_ADDRESS);

const decodeOrNull = (text: string): string | null => {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
};

function parseSmtpUrl(text: string): SmtpUrl {
  const problem = 'must be a URL such as smtp://user:password@mail.example.com:587, or smtps:// for TLS from the start';
  const url = URL.canParse(text) ? new URL(text) : null;
  const isSecure = url?.protocol === 'smtps:';
  if (!url || (url.protocol !== 'smtp:' && !isSecure) || url.hostname === '') throw new Error(problem);
  if (!['', '/'].includes(url.pathname) || url.search !== '' || url.hash !== '') throw new Error(`${problem}, without a path`);
  const [user, password] = [decodeOrNull(url.username), decodeOrNull(url.password)];
  if (user === null || password === null) throw new Error('has a user or password that is not percent-encoded correctly');
  const defaultPort = isSecure ? SMTPS_PORT : SMTP_PORT;
  return {
    isSecure,
    // An IPv6 address is in brackets.
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? defaultPort : Number(url.port),
    login: user === '' ? null : { user, password },
  };
}

function parseFrom(text: string): string {
  if (ADDRESS.test(text)) return text;
  throw new Error('must be an email address such as everstep@example.com');
}

function parseTls(text: string): 'required' | 'optional' {
  if (text === 'required' || text === 'optional') return text;
  throw new Error('must be required or optional');
}

function parseRecipients(text: string): readonly string[] {
  const entries = text
    .toLowerCase()
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  for (const entry of entries)
    if (!ADDRESS.test(entry) && !DOMAIN.test(entry))
      throw new Error(`must be domains or email addresses, separated by commas; "${entry}" is invalid`);
  return Object.freeze(entries.map((entry) => (entry.includes('@') ? entry : `@${entry}`)));
}

/** Declares a setting with the type of its value. */
const setting = <Value>(declaration: Setting<Value>): Setting<Value> => declaration;

export const MAIL_SETTINGS = {
  smtpUrl: setting<SmtpUrl | null>({
    env: 'EVERSTEP_SMTP_URL',
    flag: '--smtp-url <url>',
    option: 'smtpUrl',
    help: 'SMTP server for email about alerts, smtp://user:password@host:port or smtps://; prefer EVERSTEP_SMTP_URL_FILE',
    defaultText: 'none: no email is sent',
    isSecret: true,
    fallback: () => null,
    parse: parseSmtpUrl,
  }),
  smtpFrom: setting<string | null>({
    env: 'EVERSTEP_SMTP_FROM',
    flag: '--smtp-from <address>',
    option: 'smtpFrom',
    help: 'address of the sender of email; required with an SMTP server',
    defaultText: 'none',
    fallback: () => null,
    parse: parseFrom,
  }),
  smtpTls: setting<'required' | 'optional'>({
    env: 'EVERSTEP_SMTP_TLS',
    flag: '--smtp-tls <mode>',
    option: 'smtpTls',
    help: 'required, or optional: the password and email are sent in plain text if the SMTP server does not support TLS',
    defaultText: 'required',
    fallback: () => 'required',
    parse: parseTls,
  }),
  smtpRecipients: setting<readonly string[]>({
    env: 'EVERSTEP_SMTP_RECIPIENTS',
    flag: '--smtp-recipients <list>',
    option: 'smtpRecipients',
    help: 'comma-separated domains and email addresses that may receive email',
    defaultText: 'any',
    fallback: () => Object.freeze([]),
    parse: parseRecipients,
  }),
};

/** Reads the settings; null if no SMTP server is set. Calls `reportProblem` with a sentence for each error. */
export function readMail(
  read: <Value>(setting: Setting<Value>) => Value,
  reportProblem: (sentence: string) => void,
): MailSettings | null {
  const [url, from, tlsMode] = [read(MAIL_SETTINGS.smtpUrl), read(MAIL_SETTINGS.smtpFrom), read(MAIL_SETTINGS.smtpTls)];
  const recipients = read(MAIL_SETTINGS.smtpRecipients);
  if (url === null) {
    if (from !== null) reportProblem('EVERSTEP_SMTP_FROM is set without EVERSTEP_SMTP_URL; set both');
    return null;
  }
  if (from === null) reportProblem('EVERSTEP_SMTP_URL is set without EVERSTEP_SMTP_FROM; set both');
  const { isSecure, ...server } = url;
  const startTls = tlsMode === 'required' ? 'upgrade' : 'if-offered';
  return Object.freeze({ ...server, tls: isSecure ? 'from-start' : startTls, from: from ?? '', recipients });
}
