/**
 * The form in which the published SDKs carry a token: base64 of JSON with a
 * user id and a password. One of them reads the user id out of it (to make
 * the address of a webhook). Ours names the queue instance there, and the
 * password is the token itself.
 */
import { parseJson } from '@everstep/sdk/protocol';

const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

interface CarriedToken {
  readonly UserID: string;
  readonly Password: string;
}

function isCarried(value: unknown): value is CarriedToken {
  if (typeof value !== 'object' || value === null) return false;
  const { UserID, Password } = value as Readonly<Record<string, unknown>>;
  return typeof UserID === 'string' && typeof Password === 'string';
}

/** The token in that form; null when `text` has another one. Whether it is good is not looked at. */
export function readCarriedToken(text: string): string | null {
  if (!BASE64.test(text)) return null;
  try {
    const value: unknown = parseJson(Buffer.from(text, 'base64').toString('utf8'));
    return isCarried(value) ? value.Password : null;
  } catch {
    return null;
  }
}

/** What a user sets as QSTASH_TOKEN. */
export function carryToken({ instanceId, token }: { readonly instanceId: string; readonly token: string }): string {
  const carried: CarriedToken = { UserID: instanceId, Password: token };
  return Buffer.from(JSON.stringify(carried)).toString('base64');
}
