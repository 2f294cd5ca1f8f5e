/**
 * Token format of the published SDKs: Base64 of JSON with a user id and a password. One SDK reads the user id to
 * build webhook URLs. Everstep uses the id of the queue instance as the user id, and the token itself as the
 * password.
 */
import { parseJson } from '@everstep/sdk/protocol';

const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

interface CarriedToken {
  readonly UserID: string;
  readonly Password: string;
}

function isCarriedToken(value: unknown): value is CarriedToken {
  if (typeof value !== 'object' || value === null) return false;
  const { UserID, Password } = value as Readonly<Record<string, unknown>>;
  return typeof UserID === 'string' && typeof Password === 'string';
}

/** Extracts the token, or returns null if `text` has another format. Does not verify the token. */
export function readCarriedToken(text: string): string | null {
  if (!BASE64.test(text)) return null;
  try {
    const value: unknown = parseJson(Buffer.from(text, 'base64').toString('utf8'));
    return isCarriedToken(value) ? value.Password : null;
  } catch {
    return null;
  }
}

/** Returns the value for QSTASH_TOKEN. */
export function carryToken({ instanceId, token }: { readonly instanceId: string; readonly token: string }): string {
  const carriedToken: CarriedToken = { UserID: instanceId, Password: token };
  return Buffer.from(JSON.stringify(carriedToken)).toString('base64');
}
