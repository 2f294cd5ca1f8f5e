/** Sends email through the SMTP server of the operator. Another sender sends all other messages. */
import { parseJson, truncateText } from '@everstep/sdk/protocol';
import type { NodemailerError, SendMailOptions, Transporter } from 'nodemailer';
import { LIMITS } from '../config/limits.js';
import type { MailSettings } from '../config/mail/mail-settings.js';
import type { MailContent } from '../engine/alerts/notice-content.js';
import type { DeliveryFailure } from '../engine/runs/run.js';
import type { Log } from '../ports/log.js';
import type { MailRecipients } from '../ports/mail-recipients.js';
import type { MailTarget, Message, MessageOutcome, MessageSender } from '../ports/message-sender.js';

const HOUR_MS = 3_600_000;
/** Response code of an accepted message. */
const ACCEPTED = 250;
const MAX_RESPONSE_LENGTH = 300;
const BACKOFF = { kind: 'backoff' } as const;
const NEVER = { kind: 'never' } as const;

export interface MailSenderOptions {
  /** Settings of the SMTP server; null if there is none; sending email then fails. */
  readonly settings: MailSettings | null;
  /** Returns the current time, Unix ms. */
  readonly now: () => number;
  readonly log: Log;
  /** CA certificates in PEM format. Default: those that Node trusts. */
  readonly ca?: string;
}

function failureOutcome(
  cause: DeliveryFailure['cause'],
  message: string,
  retry: DeliveryFailure['retry'] = BACKOFF,
): Extract<MessageOutcome, { readonly kind: 'failure' }> {
  const noResponse = { status: null, responseHeaders: {}, responseBody: new Uint8Array() };
  return { kind: 'failure', failure: { cause, message, retry, ...noResponse } };
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** Returns the content of an email; null if the notice was created when its destination was of another kind. */
function contentOf({ body }: Message): MailContent | null {
  const content = parseJson(new TextDecoder().decode(body ?? new Uint8Array()));
  if (typeof content !== 'object' || content === null || !('subject' in content) || !('text' in content)) return null;
  const [subject, text] = [textOf(content.subject), textOf(content.text)];
  return subject === null || text === null ? null : { subject, text };
}

/**
 * Sends email. Implements both ports, so that an address that is rejected when a message is sent is also rejected when a
 * destination is saved.
 */
export class MailSender implements MessageSender, MailRecipients {
  private readonly otherMessages: MessageSender;
  private readonly options: MailSenderOptions;
  private transporter: Promise<Transporter> | null = null;
  /** Number of recipients per instance in the current hour. */
  private recipientCounts: { readonly hour: number; readonly countByInstance: Map<string, number> } = {
    hour: 0,
    countByInstance: new Map(),
  };

  /** Creates the sender. `otherMessages` sends the messages that are not email. */
  constructor(otherMessages: MessageSender, options: MailSenderOptions) {
    this.otherMessages = otherMessages;
    this.options = options;
  }

  allows(address: string): boolean {
    const recipients = this.options.settings?.recipients ?? [];
    const lowerAddress = address.toLowerCase();
    return (
      recipients.length === 0 ||
      recipients.some((pattern) => (pattern.startsWith('@') ? lowerAddress.endsWith(pattern) : lowerAddress === pattern))
    );
  }

  send(message: Message, signal: AbortSignal, onSent?: () => void): Promise<MessageOutcome> {
    const { mail } = message;
    return mail ? this.sendMail(message, mail, signal, onSent) : this.otherMessages.send(message, signal, onSent);
  }

  private async sendMail(
    message: Message,
    { id, to }: MailTarget,
    signal: AbortSignal,
    onSent?: () => void,
  ): Promise<MessageOutcome> {
    const { settings } = this.options;
    const content = contentOf(message);
    if (!settings) return failureOutcome('refused', 'no SMTP server is configured');
    if (!content) return failureOutcome('refused', 'the notice was created for a destination of another kind', NEVER);
    if (!to.every((address) => this.allows(address)))
      return failureOutcome('refused', 'a recipient is not allowed to receive email from this installation', NEVER);
    const delayMs = this.admitRecipients(message.instanceId, to.length);
    if (delayMs > 0)
      return failureOutcome(
        'refused',
        `the queue instance has reached the limit of ${LIMITS.maxMailRecipientsPerHour} email recipients per hour; the email is sent later`,
        {
          kind: 'after',
          delayMs,
        },
      );
    onSent?.();
    const domain = settings.from.slice(settings.from.indexOf('@'));
    return this.deliver(message.instanceId, {
      ...{ from: { name: 'Everstep', address: settings.from }, to: [...to], ...content, signal },
      envelope: { from: settings.from, to: [...to] },
      // Attempts of one notice have the same id, so mail clients show it once.
      messageId: `<${id}${domain}>`,
      headers: { 'Auto-Submitted': 'auto-generated' },
    });
  }

  private async deliver(instanceId: string, mail: SendMailOptions): Promise<MessageOutcome> {
    try {
      this.transporter ??= this.createTransporter();
      const { response } = await (await this.transporter).sendMail(mail);
      return { kind: 'response', status: ACCEPTED, headers: {}, body: new TextEncoder().encode(String(response)) };
    } catch (error) {
      const {
        code = 'ERROR',
        responseCode,
        permanent,
        response = '',
      }: Partial<NodemailerError> = error instanceof Error ? error : {};
      // The error message can contain network addresses and email addresses.
      if (!mail.signal?.aborted)
        this.options.log.warn({ instanceId, code, responseCode: responseCode ?? null }, 'email could not be sent');
      // Only responses about the sender and the recipients concern the user; others are about the login or the server.
      if (code === 'EENVELOPE')
        return failureOutcome(
          'refused',
          `the SMTP server rejected the email: ${truncateText(response, MAX_RESPONSE_LENGTH)}`,
          permanent ? NEVER : BACKOFF,
        );
      return failureOutcome(
        code === 'ETIMEDOUT' ? 'timeout' : 'network',
        `could not send the email through the SMTP server (${code})`,
      );
    }
  }

  /** Counts the recipients and returns 0, or returns the time until the next hour if the limit is reached. */
  private admitRecipients(instanceId: string, count: number): number {
    const now = this.options.now();
    const hour = Math.floor(now / HOUR_MS);
    if (hour !== this.recipientCounts.hour) this.recipientCounts = { hour, countByInstance: new Map() };
    const { countByInstance } = this.recipientCounts;
    const total = (countByInstance.get(instanceId) ?? 0) + count;
    if (total > LIMITS.maxMailRecipientsPerHour) return (hour + 1) * HOUR_MS - now;
    countByInstance.set(instanceId, total);
    return 0;
  }

  /**
   * Creates the transporter. The library is loaded for the first email, because loading it at startup would more than double
   * the startup time.
   */
  private async createTransporter(): Promise<Transporter> {
    const { settings, ca } = this.options;
    const { createTransport } = await import('nodemailer');
    const { host, port, tls, login } = settings ?? {};
    const timeoutMs = LIMITS.noticeTimeoutMs;
    return createTransport({
      ...{ host, port, secure: tls === 'from-start', requireTLS: tls === 'upgrade' },
      ...(login ? { auth: { user: login.user, pass: login.password } } : {}),
      ...(ca === undefined ? {} : { tls: { ca } }),
      ...{ connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs, dnsTimeout: timeoutMs },
      ...{ disableFileAccess: true, disableUrlAccess: true },
    });
  }
}
