/** Ids of sessions. */
const ID_LENGTH = 32;

/** Returns the id of the session. It does not reveal the secret, which has more bits. */
export const sessionIdOf = (sessionHash: string): string => `ses_${sessionHash.slice(0, ID_LENGTH)}`;
