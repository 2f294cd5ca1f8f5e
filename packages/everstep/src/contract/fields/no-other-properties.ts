/** Schema option that rejects unknown properties of an object. */
export const NO_OTHER_PROPERTIES = { additionalProperties: false } as const;
