/** Schema option of objects without unknown properties. */
export const NO_OTHER_PROPERTIES = { additionalProperties: false } as const;
