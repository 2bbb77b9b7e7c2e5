/** One commit, one topic. */
const isNoList = ({ subject }) => [!subject?.includes(';'), 'the subject joins topics with a semicolon'];

export default {
  extends: ['@commitlint/config-conventional'],
  plugins: [{ rules: { 'subject-no-list': isNoList } }],
  rules: {
    'subject-no-list': [2, 'always'],
    'header-max-length': [2, 'always', 72],
    // Bodies quote commands and addresses.
    'body-max-line-length': [0],
    'footer-max-line-length': [0],
    // A line of prose with a colon is taken for one.
    'footer-leading-blank': [0],
    // "fix(grpc): OpenAPI …": names keep their capitals.
    'subject-case': [0],
  },
};
