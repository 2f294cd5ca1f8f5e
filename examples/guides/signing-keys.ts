import { type Client, type SigningKeys, serve } from '@everstep/sdk';

/** An endpoint that accepts requests signed with either key and refuses all others. */
export const withKeys = (signingKeys: SigningKeys) =>
  serve<unknown, string>(async (context) => context.run('work', () => 'worked'), { signingKeys });

/**
 * The next key becomes the current one. Apps that have both keys continue to accept requests. Give them the new pair
 * before you rotate the keys again.
 */
export async function rotate(client: Client): Promise<SigningKeys> {
  return client.keys.rotate();
}

/** An endpoint without a secret: it fetches the public keys from this URL. */
export const withPublicKeys = (jwksUrl: string) =>
  serve<unknown, string>(async (context) => context.run('work', () => 'worked'), { jwksUrl });

/** Turns on Ed25519 signatures and returns the URL of the public keys. */
export async function turnOnEd25519(client: Client): Promise<string> {
  const { ed25519 } = await client.signatures.update({ ed25519: true });
  if (!ed25519) throw new Error('Ed25519 signatures are off');
  return ed25519.jwksUrl;
}
