/* Certificates, which may change while the service runs.
 *
 * A connection uses the files as they were when it began.  So SIGHUP brings a new certificate, or
 * another authority for clients, and no running request ends. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <gnutls/x509.h>

#include "service.h"

struct tls_files {
    size_t users;
    char *cert, *key, *client_ca; /* PEM */
    gnutls_certificate_credentials_t credentials;
};

static void free_files(tls_files *f)
{
    if (f == NULL)
        return;
    if (f->credentials != NULL)
        gnutls_certificate_free_credentials(f->credentials);
    if (f->key != NULL)
        explicit_bzero(f->key, strlen(f->key));
    free(f->cert);
    free(f->key);
    free(f->client_ca);
    free(f);
}

static pboost_status read_pem(char **out, const char *option, const char *path, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    enum { MOST = 1 << 20 };
    char *text = NULL;
    FILE *file = fopen(path, "re");

    if (file == NULL)
        FAIL(err, PBOOST_BAD_DATA, "%s %s: %s", option, path, strerror(errno));
    NEED(text = calloc(1, MOST), err);
    size_t n = fread(text, 1, MOST - 1, file);
    if (n == 0 || ferror(file) || strstr(text, "-----BEGIN") == NULL)
        FAIL(err, PBOOST_BAD_DATA, "%s %s holds no PEM text", option, path);
    *out = text;
    text = NULL;
done:
    if (text != NULL)
        explicit_bzero(text, MOST);
    free(text);
    if (file != NULL)
        fclose(file);
    return st;
}

static gnutls_datum_t datum_of(char *text)
{
    return (gnutls_datum_t){(unsigned char *)text, (unsigned)strlen(text)};
}

static pboost_status make_credentials(tls_files *f, const pboost_server_options *o,
                                      pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    gnutls_datum_t cert = datum_of(f->cert), key = datum_of(f->key);

    if (gnutls_certificate_allocate_credentials(&f->credentials) != GNUTLS_E_SUCCESS)
        FAIL(err, PBOOST_NO_MEMORY, "out of memory");
    int code =
        gnutls_certificate_set_x509_key_mem(f->credentials, &cert, &key, GNUTLS_X509_FMT_PEM);
    if (code < 0)
        FAIL(err, PBOOST_BAD_DATA,
             "--tls-cert %s and --tls-key %s cannot be used: %s; they must be a certificate chain "
             "and its key, both PEM",
             o->tls_cert, o->tls_key, gnutls_strerror(code));
    if (f->client_ca == NULL)
        goto done;
    gnutls_datum_t ca = datum_of(f->client_ca);
    code = gnutls_certificate_set_x509_trust_mem(f->credentials, &ca, GNUTLS_X509_FMT_PEM);
    if (code <= 0)
        FAIL(err, PBOOST_BAD_DATA, "--client-ca %s holds no certificate%s%s", o->client_ca,
             code < 0 ? ": " : "", code < 0 ? gnutls_strerror(code) : "");
done:
    return st;
}

pboost_status pboost_tls_load(tls *t, const pboost_server_options *o, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    tls_files *f = NULL;

    if (o->tls_cert == NULL)
        return PBOOST_OK;
    NEED(f = calloc(1, sizeof *f), err);
    f->users = 1;
    TRY(read_pem(&f->cert, "--tls-cert", o->tls_cert, err));
    TRY(read_pem(&f->key, "--tls-key", o->tls_key, err));
    if (o->client_ca != NULL)
        TRY(read_pem(&f->client_ca, "--client-ca", o->client_ca, err));
    TRY(make_credentials(f, o, err));
    pthread_mutex_lock(&t->lock);
    tls_files *before = t->now;
    t->now = f;
    pthread_mutex_unlock(&t->lock);
    f = before;
done:
    if (st == PBOOST_OK)
        pboost_tls_end(t, f);
    else
        free_files(f);
    return st;
}

void pboost_tls_free(tls *t)
{
    pboost_tls_end(t, t->now);
    t->now = NULL;
}

const char *pboost_tls_cert(const tls *t)
{
    return t->now != NULL ? t->now->cert : NULL;
}

const char *pboost_tls_key(const tls *t)
{
    return t->now != NULL ? t->now->key : NULL;
}

/* Before the handshake.  A client without a certificate of the authority does not get through it.
 */
tls_files *pboost_tls_begin(tls *t, gnutls_session_t session)
{
    static gnutls_typed_vdata_st purpose = {
        GNUTLS_DT_KEY_PURPOSE_OID, (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT, 0};

    pthread_mutex_lock(&t->lock);
    tls_files *f = t->now;
    f->users++;
    pthread_mutex_unlock(&t->lock);
    gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, f->credentials);
    if (f->client_ca != NULL) {
        gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
        gnutls_session_set_verify_cert2(session, &purpose, 1, 0);
    }
    return f;
}

void pboost_tls_end(tls *t, tls_files *f)
{
    if (f == NULL)
        return;
    pthread_mutex_lock(&t->lock);
    bool last = --f->users == 0;
    pthread_mutex_unlock(&t->lock);
    if (last)
        free_files(f);
}
