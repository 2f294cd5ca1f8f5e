import { type Client, type SigningKeys, serve } from '@everstep/sdk';

/** An endpoint that accepts what is signed with either key, and refuses all else. */
export const withKeys = (signingKeys: SigningKeys) =>
  serve<unknown, string>(async (context) => context.run('work', () => 'worked'), { signingKeys });

/**
 * The next key becomes the current one. Apps that were given both go on accepting; give them the new pair before
 * the keys are rotated again.
 */
export async function rotate(client: Client): Promise<SigningKeys> {
  return client.keys.rotate();
}
