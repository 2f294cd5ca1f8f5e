/** Size of a body that is transported as text. */
import type { EncodedBody } from '@everstep/sdk/protocol';

const UTF8 = new TextEncoder();

/** Returns the size of the decoded body in bytes. */
export function bytesOf({ encoding, data }: EncodedBody): number {
  if (encoding === 'utf8') return UTF8.encode(data).length;
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0;
  return Math.floor((data.length * 3) / 4) - padding;
}
