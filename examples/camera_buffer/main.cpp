// A camera's frame buffer, which a driver fills again and again, is a tensor without a copy: the
// rows of the buffer have a gap at their end, as drivers like it. Two parameters of a correction,
// gain and offset, follow a lamp that grows darker, one step of gradient descent a frame.
//
// ctest: 200
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <xgrad/xgrad.hpp>

namespace xg = xgrad;
using F = xg::Tensor<float>;

/// What stands for the driver: it owns the buffer, and knows nothing of tensors.
class Camera {
public:
    static constexpr std::size_t rows = 120, columns = 150, pitch = 160; // in pixels

    float* buffer() { return buffer_.data(); }
    /// Fills the buffer with a scene under a lamp that is darker with each frame.
    void grab() {
        float const lamp = 0.5f + 0.4f * std::exp(-0.02f * static_cast<float>(frame_++));
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < columns; ++j)
                buffer_[i * pitch + j] = 0.1f + lamp * scene(i, j);
    }
    static float scene(std::size_t i, std::size_t j) {
        return 0.5f + 0.5f * std::sin(0.1f * static_cast<float>(i)) *
                          std::cos(0.07f * static_cast<float>(j));
    }

private:
    std::vector<float> buffer_ = std::vector<float>(rows * pitch, -1);
    int frame_ = 0;
};

int main(int argc, char** argv) {
    int const frames = argc > 1 ? std::atoi(argv[1]) : 200;
    Camera camera;
    // The tensor of the buffer: made once, and never copied. mutable_strided_data() tells it of
    // each frame; rows of the buffer have gaps.
    F image = xg::from_blob(camera.buffer(), {Camera::rows, Camera::columns}, {Camera::pitch, 1});

    std::vector<float> expected;
    for (std::size_t i = 0; i < Camera::rows; ++i)
        for (std::size_t j = 0; j < Camera::columns; ++j) expected.push_back(Camera::scene(i, j));
    F const scene = xg::adopt(std::move(expected), image.shape());

    F gain(1.f, xg::requires_grad), offset(0.f, xg::requires_grad);
    float error = 0;
    for (int frame = 0; frame < frames; ++frame) {
        image.mutable_strided_data();
        camera.grab();
        F const loss = mean(square(gain * image + offset - scene));
        error = std::sqrt(loss.item());
        if (frame % 50 == 0) std::printf("frame %3d: error %.4f\n", frame, double(error));
        gain.zero_grad();
        offset.zero_grad();
        loss.backward();
        xg::NoGradGuard const off;
        gain -= 1.5f * gain.grad();
        offset -= 0.5f * offset.grad();
    }
    std::printf("gain %.3f, offset %.3f, error %.4f\n", double(gain.item()), double(offset.item()),
        double(error));
    return error < 0.02f ? 0 : 1;
}
