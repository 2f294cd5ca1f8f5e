/** Version 36: the token that replaced a named token in a rotation; null if it was not replaced. */
export const replacedTokens = 'ALTER TABLE named_token ADD COLUMN replaced_by TEXT;';
