/** Version 34: checksums of values that are handed to code (CRC-32, signed); null for no value, or one from an earlier version. */
export const checksums = `
ALTER TABLE step ADD COLUMN out_crc INTEGER;
ALTER TABLE payload ADD COLUMN body_crc INTEGER;
`;
