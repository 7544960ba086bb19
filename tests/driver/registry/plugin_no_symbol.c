/* A shared object that is no plug-in. */
extern const int fake_nothing;
const int fake_nothing = 1;
