export const waitsAndMessages = '';
